"""The command: parse, call one public function, render, map errors to exit codes."""

"""Drop-ins that must look like other tools: coco-caption's scorers, and the official CLIPScore script."""

from clipstore.compat.coco_caption import CLIPScore as CLIPScore

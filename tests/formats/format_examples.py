"""One small example of each format, as people have it, with a malformed twin."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass, field

from clipstore.formats import Hints

LLAVA = '{"question_id":0,"prompt":"Caption this.","text":"a boy runs","answer_id":"Kx3","model_id":"llava-7b","metadata":{}}'
BATCH_OK = (
    '{"id":"b1","custom_id":"391895","response":{"status_code":200,"request_id":"r1","body":{"choices":'
    '[{"index":1,"message":{"role":"assistant","content":"a rider"}},'
    '{"index":0,"message":{"role":"assistant","content":"a man"}}]}},"error":null}'
)
BATCH_FAILED = '{"id":"b2","custom_id":"7","response":{"status_code":500,"body":null},"error":{"code":"x"}}'
KARPATHY = {
    "dataset": "coco",
    "images": [
        {
            "filepath": "val2014",
            "filename": "COCO_val2014_000000391895.jpg",
            "imgid": 0,
            "cocoid": 391895,
            "split": "test",
            "sentids": [770337],
            "sentences": [{"raw": "A man rides.", "tokens": ["a", "man", "rides"], "imgid": 0, "sentid": 770337}],
        },
        {
            "filepath": "train2014",
            "filename": "COCO_train2014_000000000009.jpg",
            "imgid": 1,
            "cocoid": 9,
            "split": "restval",
            "sentences": [{"raw": "Food.", "tokens": ["food"]}],
        },
    ],
}


@dataclass(frozen=True)
class Case:
    """One format: its example, what comes of it, its malformed twin, and words of the refusal."""

    name: str
    title: str
    text: str
    ids: list[str | int]
    texts: list[str]
    twin: str
    words: str
    hints: Hints = field(default_factory=Hints)


CASES = [
    Case(
        "official",
        "clipscore candidates",
        '{"image1": "an orange cat on a sofa", "2": ""}',
        ["image1", "2"],
        ["an orange cat on a sofa", ""],
        '{"image1": "a cat", "image2": null}',
        r"entry 2 \(image 'image2'\): the caption is null, not a string",
    ),
    Case(
        "official",
        "clipscore candidates",
        '{"image1": ["two cats", "a cat"], "b": "x"}',
        ["image1", "image1", "b"],
        ["two cats", "a cat", "x"],
        '{"image1": ["two cats", 42]}',
        r"entry 1 \(image 'image1'\): the caption is a number",
    ),
    Case(
        "coco-results",
        "COCO results",
        '[{"image_id": 391895, "caption": "a man"}, {"image_id": 0, "caption": "a dog"}]',
        [391895, 0],
        ["a man", "a dog"],
        '[{"image_id": 391895, "caption": "a man"}, {"image_id": 7}]',
        r"row 2 has no 'caption' \(it has: image_id\)",
    ),
    Case(
        "coco-annotations",
        "COCO annotations",
        '{"images":[{"id":391895,"file_name":"COCO_val2014_000000391895.jpg"}],'
        '"annotations":[{"id":1,"image_id":391895,"caption":"a man rides"}]}',
        [391895],
        ["a man rides"],
        '{"images":[{"id":1}],"annotations":[{"id":1,"image_id":2,"caption":"a man rides"}]}',
        r"annotation 1 is of image 2, which 'images' does not name",
    ),
    Case(
        "karpathy",
        "Karpathy split",
        json.dumps(KARPATHY),
        [391895],
        ["A man rides."],
        '{"images":[{"cocoid":1,"split":"test","sentences":["no object"]}]}',
        r"image 1: 'sentences' is not a list of objects with 'raw'",
        Hints(split="test"),
    ),
    Case(
        "nocaps",
        "nocaps annotations",
        '{"images":[{"id":0,"file_name":"0013ea2087020901.jpg","domain":"near-domain"}],'
        '"annotations":[{"image_id":0,"caption":"a baby"}]}',
        [0],
        ["a baby"],
        '{"images":[{"id":0,"domain":"near-domain"},{"id":0}],"annotations":[]}',
        r"'images' names an id twice: 0",
    ),
    Case(
        "nocaps",
        "nocaps annotations",
        '[{"image_id": 0, "annotations_captions": ["a baby", "a child"], "domain": "in-domain"}]',
        [0, 0],
        ["a baby", "a child"],
        '[{"image_id": null, "annotations_captions": ["a baby"]}]',
        r"row 1: the image id is null",
    ),
    Case(
        "vizwiz",
        "VizWiz annotations",
        '{"images":[{"id":5,"file_name":"v.jpg"},{"id":6}],"annotations":['
        '{"image_id":5,"caption":"a can","is_rejected":false,"is_precanned":false},'
        '{"image_id":5,"caption":"bad","is_rejected":true,"is_precanned":false},'
        '{"image_id":6,"caption":"Quality issues","is_rejected":false,"is_precanned":true}]}',
        [5],
        ["a can"],
        '{"images":[{"id":5}],"annotations":[{"image_id":5,"is_rejected":false}]}',
        r"annotation 1 has no 'caption'",
    ),
    Case(
        "predictions",
        "predictions",
        '[{"img_id":"13869_9e8.jpg","prediction":["a boy in a field"]}]',
        ["13869_9e8.jpg"],
        ["a boy in a field"],
        '[{"img_id":"13869_9e8.jpg","prediction":[["a boy"]]}]',
        r"row 1 \(image '13869_9e8.jpg'\): the caption is a list",
    ),
    Case(
        "batch",
        "vLLM/OpenAI batch output",
        f"{BATCH_OK}\n{BATCH_FAILED}\n",
        ["391895", "391895"],
        ["a man", "a rider"],
        '{"custom_id":"1","response":{"status_code":200,"body":{"choices":[{"message":{"content":null}}]}}}',
        r"a choice holds no text",
    ),
    Case(
        "beams",
        "n-best rows",
        '{"image_id":391895,"captions":["a man","a rider"],"scores":[-0.41,-0.57]}\n{"image_id":7,"captions":["x"],"scores":[-1]}',
        [391895, 391895, 7],
        ["a man", "a rider", "x"],
        '{"image_id":1,"captions":["a","b"],"scores":[-0.41]}\n{"image_id":7,"captions":["x"],"scores":[-1]}',
        r"line 1 has 2 captions but 1 scores",
    ),
    Case(
        "beams",
        "n-best rows",
        '{"image_ids":[1,2],"sequences":["a","b","c","d"],"sequences_scores":[-1,-2,-3,-4]}',
        [1, 1, 2, 2],
        ["a", "b", "c", "d"],
        '{"image_ids":[1,2],"sequences":["a","b","c"]}',
        r"3 captions for 2 ids: the counts must agree",
    ),
    Case(
        "imagefolder",
        "ImageFolder metadata",
        '{"file_name":"0001.png","text":"a nice cat"}\n{"file_name":"0002.png","text":"a dog"}\n',
        ["0001.png", "0002.png"],
        ["a nice cat", "a dog"],
        '{"file_name":"0001.png","text":"a nice cat"}\n{"file_name":"0002.png"}\n',
        r"line 2 has no 'text'",
    ),
    Case(
        "flickr-tokens",
        "Flickr token file",
        "13869_9e8.jpg#0\ta boy, runs\n2258277193_586949ec62.jpg.1#1\tpeople wait\n",
        ["13869_9e8.jpg", "2258277193_586949ec62.jpg.1"],
        ["a boy, runs", "people wait"],
        "13869_9e8.jpg#0\ta boy\n13869_9e8.jpg a girl\n",
        r"line 2 is not NAME#NUMBER<TAB>CAPTION",
    ),
    Case(
        "table",
        "CSV/TSV table",
        'image,caption\na.jpg,"a boy, a dog"\nb.jpg,a boy, a dog\n',
        ["a.jpg", "b.jpg"],
        ["a boy, a dog", "a boy, a dog"],
        "image,caption\na.jpg\n",
        r"line 2 has 1 fields, not 2",
    ),
    Case(
        "table",
        "CSV/TSV table",
        'image_id\tcaption\tscore\n7\t"quoted" start\t-1.5\n8\tplain\t\n',
        ["7", "8"],
        ['"quoted" start', "plain"],
        "image_id\tcaption\tscore\n7\ta\tinf\n",
        r"line 2: the score is inf, not a finite number",
    ),
    Case(
        "table",
        "CSV/TSV table",
        "image_name| comment_number| comment\nimg.jpg| 0| a boy\nimg2.jpg| 4   A dog runs\n",
        ["img.jpg", "img2.jpg"],
        ["a boy", "A dog runs"],
        "image_name| comment_number| comment\nimg.jpg\n",
        r"line 2 has 1 fields, not 3",
    ),
    Case(
        "canonical",
        "clipstore rows",
        '{"image":"v/a.jpg","system":"blip2","rank":1,"caption":"second","logprob":-0.5}\n'
        '{"image":"v/a.jpg","system":"blip2","rank":0,"caption":"first","logprob":-0.41}\n',
        ["v/a.jpg", "v/a.jpg"],
        ["second", "first"],
        '{"image":"a","system":"x","rank":0,"caption":"c"}\n{"image":"a","system":"y","rank":0,"caption":"c"}\n',
        r"holds 2 systems \(x, y\)",
    ),
    Case(
        "rows",
        "rows",
        '[{"filename": "a.jpg", "generated_text": "a cat", "other": 1}]',
        ["a.jpg"],
        ["a cat"],
        '[{"filename": "a.jpg", "other": "a cat"}]',
        r"no known format; name it with --input-format",
    ),
    Case(
        "neuraltalk",
        "NeuralTalk blobs",
        '{"imgblobs":[{"img_path":"a.jpg","candidate":{"text":"x"},"candidatelist":[{"text":"x","logprob":-1},{"text":"y","logprob":-2}]}]}',
        ["a.jpg", "a.jpg"],
        ["x", "y"],
        '{"imgblobs":[{"candidate":{"text":"x"}}]}',
        r"blob 1 has no 'img_path'",
    ),
]


def make_tar(members: dict[str, bytes]) -> bytes:
    """Return a tar archive of the members."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return sink.getvalue()

"""Foxwedge's own package for Python."""

import json

import foxwedge
from lines import serve


def cut(document, keep, options):
    """Compacts to fewer and fewer tokens until few enough messages are left."""
    tokens = len(document)
    while True:
        shorter = foxwedge.compact(document, max_tokens=tokens, **options)
        left = json.loads(shorter.document)
        if len(left if isinstance(left, list) else next(left[key] for key in ("messages", "input", "contents") if key in left)) <= keep:
            return shorter.document
        tokens = shorter.tokens_after - 1


def answer(question):
    document, track = question["input"], question["track"]
    options = {} if question["profile"] == "ai-sdk" else {"profile": question["profile"]}
    if track == "convert":
        return {"output": foxwedge.convert(document, from_format=question["format"], to=question["target"], **options).document}
    options["format"] = question["format"]
    if track == "validate":
        report = foxwedge.check(document, **options)
        errors = [finding.index for finding in report.findings if finding.severity == "error"]
        return {"valid": report.valid} | ({"message": errors[0]} if errors else {})
    if track == "repair":
        return {"output": foxwedge.fix(document, **options).document}
    if track == "cut":
        return {"output": cut(document, question["keep"], options)}
    stream = foxwedge.StreamConverter(from_format=question["format"], to=question["format"])
    stream.push(document)
    return {"output": stream.finish().messages}


serve("foxwedge", answer)

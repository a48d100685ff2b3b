"""The table of cases that all packages share: the same bytes as the engine, for every rule.

`cargo xtask packages` writes it, and names it in `FOXWEDGE_CASES`. The table is part of that suite, so a missing
one is an error.
"""

import json
import os
import re
import unittest

import foxwedge
from foxwedge import check, fix


def called(operation, document, options):
    try:
        return (*foxwedge._native.call(operation, document, options), None)
    except foxwedge.FoxwedgeError as error:
        return (None, None, error.kind)


def expected(line):
    return (line["report"], None if line["result"] is None else line["result"].encode(), line["error"])


def snake_case(name):
    """An option of the engine as the package names it."""
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)


class Cases(unittest.TestCase):
    def test_every_case_gives_the_same_bytes(self):
        with open(os.environ["FOXWEDGE_CASES"], encoding="utf-8") as table:
            lines = [json.loads(line) for line in table]
        self.assertGreater(len(lines), 500)
        for line in lines:
            with self.subTest(operation=line["operation"], options=line["options"], document=line["document"][:80]):
                for document in (line["document"], line["document"].encode()):
                    self.assertEqual(called(line["operation"], document, line["options"]), expected(line))
                if line["error"] is None and line["operation"] in ("check", "fix"):
                    self.compare_objects(line)

    def compare_objects(self, line):
        """The functions of the package say the same as the report."""
        options, expected = json.loads(line["options"]), json.loads(line["report"])
        options = {snake_case(name): value for name, value in options.items()}
        report = {"check": check, "fix": fix}[line["operation"]](line["document"], **options)
        self.assertEqual(report.valid, expected["valid"])
        self.assertEqual([finding.message for finding in report.findings], [one["message"] for one in expected["findings"]])
        if line["operation"] == "fix":
            self.assertEqual([edit.reason for edit in report.edits], [one["reason"] for one in expected["edits"]])
            self.assertEqual(report.document, line["document"] if line["result"] is None else line["result"])
        if line["operation"] == "fix" and "format" in options:
            # As objects: the result is that of the same text without spaces.
            document = json.loads(line["document"].lstrip("\ufeff"))
            fixed = fix(document, **options)
            self.assertEqual(fixed.changed, expected["changed"])
            if fixed.changed:
                text = foxwedge._native.to_json(document)
                self.assertEqual(fixed.document, json.loads(fix(text, **options).document))
            else:
                self.assertIs(fixed.document, document)


if __name__ == "__main__":
    unittest.main()

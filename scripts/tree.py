# SPDX-License-Identifier: BSD-2-Clause
"""What the check-* scripts share: the files of the tree, and how findings are reported."""
import argparse
import os
import subprocess
import sys


def options(doc):
    """Parse --root DIR (default: the tree the script lies in)."""
    parser = argparse.ArgumentParser(description=doc)
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--root", default=here, help="tree to check (default: this one)")
    return parser


def files(root):
    """Tracked and new files of a git tree, every file of another one; paths relative to root."""
    if os.path.exists(os.path.join(root, ".git")):
        out = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "--cached",
             "--others", "--exclude-standard"],
            check=True, stdout=subprocess.PIPE).stdout
        names = [n.decode() for n in out.split(b"\0") if n]
        return sorted(n for n in set(names) if os.path.isfile(os.path.join(root, n)))
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(("build", "__pycache__"))]
        found += [os.path.relpath(os.path.join(folder, n), root) for n in names]
    return sorted(found)


class Report:
    """Collects findings; finish() prints the verdict and exits."""

    def __init__(self, name):
        self.name = name
        self.errors = 0
        self.warnings = 0

    def error(self, where, what):
        print(f"{where}: {what}")
        self.errors += 1

    def warn(self, where, what):
        print(f"{where}: warning: {what}")
        self.warnings += 1

    def finish(self, scope):
        print(f"{self.name}: {scope}: {self.errors} errors, {self.warnings} warnings")
        sys.exit(1 if self.errors else 0)

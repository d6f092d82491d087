"""Tells the public names of Python modules: their declarations, comments and lines.

Standard input is a JSON list of [module, path]; standard output a JSON list of modules.
Files are parsed and never executed.
"""
import ast
import json
import sys


def doc(node):
    """The first paragraph of a doc string and the line that it ends on."""
    text = ast.get_docstring(node)
    if not text or not text.strip():
        return "", 0
    first = node.body[0]
    return text.strip().split("\n\n")[0], first.end_lineno


def entry(node, lines, prefix=""):
    text, end = doc(node)
    first = node.body[0].lineno
    for one in getattr(node.body[0], "decorator_list", []):
        first = min(first, one.lineno)
    to = max(node.lineno, first - 1)
    while to > node.lineno and not lines[to - 1].strip().endswith(":"):
        to -= 1
    return {"name": prefix + node.name, "kind": "class" if isinstance(node, ast.ClassDef) else "function",
            "from": node.lineno, "to": to, "doc": text, "end": end}


def public(tree):
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            try:
                return set(ast.literal_eval(node.value))
            except (ValueError, TypeError):
                return None
    return None


def module(name, path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    tree = ast.parse(source)
    lines = source.split("\n")
    listed = public(tree)
    text, end = doc(tree)
    out = {"module": name, "file": path, "doc": text, "from": tree.body[0].lineno if tree.body else 1, "end": end, "names": []}
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in tree.body:
        if not isinstance(node, kinds) or (node.name not in listed if listed is not None else node.name.startswith("_")):
            continue
        out["names"].append(entry(node, lines))
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, kinds[:2]) and not inner.name.startswith("_"):
                    out["names"].append(entry(inner, lines, node.name + "."))
    return out


def main():
    found = []
    for name, path in json.load(sys.stdin):
        try:
            found.append(module(name, path))
        except (SyntaxError, UnicodeDecodeError, RecursionError, ValueError, OSError) as error:
            found.append({"module": name, "file": path, "error": type(error).__name__, "names": []})
    json.dump(found, sys.stdout)


main()

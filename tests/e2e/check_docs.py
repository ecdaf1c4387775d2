# tests/e2e/check_docs.py - README and docs against the program: commands and options exist, links lead somewhere, prose fits.
# usage: check_docs.py ROOT HELP.json
import glob
import json
import os
import re
import shlex
import sys

root, help_path = sys.argv[1:]
with open(help_path, encoding="utf-8") as f:
    told = json.load(f)


def names(options):
    return {"--" + o["name"] for o in options} | {"-" + o["letter"] for o in options if o["letter"]}


common = names(told["common_options"])
commands = {c["name"]: names(c["options"]) | common for c in told["commands"]}
assert {"profile", "inspect", "report"} <= set(commands), "the help has no commands"
bad, checked = [], 0


def complain(path, line, text):
    bad.append(f"{os.path.relpath(path, root)}:{line}: {text}")


def command_lines(text):
    """The `assay ...` commands of a text with their lines: of code blocks and of code inside sentences."""
    block = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            block = not block
            continue
        pieces = [line] if block else re.findall(r"`([^`]+)`", line)
        for piece in pieces:
            for match in re.finditer(r"(?:^|[\s;&|(])(?:build/)?assay (?=[a-z-])(.*)", piece):
                if not block or re.match(r"\s*(\$ |[A-Z_]+=\S+ |build/|taskset \S+ \S+ |run: )*assay |.*&& ", piece):
                    yield number, match.group(1)


def check_command(path, number, rest):
    global checked
    rest = re.split(r"\s#|\s\||\s&&|\s>|\s2>|;\s", rest)[0]
    try:
        words = shlex.split(rest)
    except ValueError as e:
        return complain(path, number, f"{e}: assay {rest}")
    command = words[0]
    if command.isupper() or command == "COMMAND":
        return None
    if command not in commands:
        return None if command.startswith("-") else complain(path, number, f"no command '{command}'")
    checked += 1
    for word in words[1:]:
        if word == "--":
            break
        option = word.split("=")[0]
        if re.match(r"--?[a-z]", word) and " " not in word and option not in commands[command]:
            complain(path, number, f"assay {command} has no option {option}")
    return None


def check_links(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", line)):
            if not re.match(r"https?:", target) and not os.path.exists(os.path.join(os.path.dirname(path), target)):
                complain(path, number, f"the link leads nowhere: {target}")


def check_lengths(path, text):
    block = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            block = not block
        elif len(line) > 120 and not block and not line.lstrip().startswith(("|", "<", "![")):
            complain(path, number, f"{len(line)} characters in a line of prose")


pages = [os.path.join(root, "README.md"), os.path.join(root, "CONTRIBUTING.md"),
         *sorted(glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True))]
for path in pages:
    with open(path, encoding="utf-8") as f:
        text = f.read()
    check_links(path, text)
    if path.endswith("figures-history.md"): # kept as it was written, with the options of its time
        continue
    check_lengths(path, text)
    for number, rest in command_lines(text):
        check_command(path, number, rest)
with open(pages[0], encoding="utf-8") as f:
    readme = f.read()
if readme.count("\n") > 150:
    complain(pages[0], 150, f"{readme.count(chr(10))} lines; the README has 150 at most")
index = open(os.path.join(root, "docs", "index.md"), encoding="utf-8").read()
for path in pages[2:]:
    if os.path.relpath(path, os.path.join(root, "docs")) not in index and not path.endswith("index.md"):
        complain(path, 1, "docs/index.md does not link to this page")
assert checked > 50, f"only {checked} commands were found"
print("\n".join(bad) if bad else f"{len(pages)} pages, {checked} commands")
sys.exit(bool(bad))

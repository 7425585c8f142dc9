"""Says whose work is in a release's program beside ours: the crates that are linked into it, the packages
of its page, Rust's standard library and the C library. Run in the project's folder, once both are built.

Usage: third_party.py texts TARGET    prints all licences, each text once
       third_party.py sbom FILE       adds the page's packages to a CycloneDX file, which has the crates
"""

import glob, html, json, os, re, sys
from subprocess import check_output
from urllib.parse import quote


def read(*patterns):
    """The first file that is there; of HTML the words."""
    found = next((path for it in patterns for path in glob.glob(it)), None) or sys.exit(
        f"not there, as on systems that leave packages' documentation out: {' or '.join(patterns)}")
    with open(found, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return html.unescape(re.sub("<[^>]*>", "", text)) if found.endswith(".html") else text


def reached(start, needs):
    found, todo = set(), [start]
    while todo:
        new = set(needs(todo.pop())) - found
        found |= new
        todo += new
    return found


def crates(target):
    """All that may be linked: what only builds and tests is left out."""
    told = json.loads(check_output([os.environ.get("CARGO", "cargo"), "metadata", "--format-version=1", "--locked",
                                    "--features=kubernetes", f"--filter-platform={target}"]))
    needs = {node["id"]: [it["pkg"] for it in node["deps"] if any(not kind["kind"] for kind in it["dep_kinds"])]
             for node in told["resolve"]["nodes"]}
    found = reached(told["resolve"]["root"], needs.get)
    return [(it["name"], it["version"], it["license"], os.path.dirname(it["manifest_path"]))
            for it in told["packages"] if it["id"] in found]


def page_packages():
    """What the page's sources import, and what that needs."""
    locked = json.loads(read("ui/package-lock.json"))["packages"]
    sources = "".join(map(read, glob.glob("ui/src/**/*.ts*", recursive=True)))
    locked[""] = {"dependencies": re.findall(r'from "(@[^/"]+/[^/"]+|[^@./"]+)', sources)}
    place = lambda user, it: next(at for at in (f"{user}/node_modules/{it}", f"node_modules/{it}") if at in locked)
    found = reached("", lambda user: [place(user, it) for it in locked[user].get("dependencies", [])])
    return [(at.rpartition("node_modules/")[2], locked[at]["version"], locked[at]["license"], f"ui/{at}")
            for at in sorted(found)]


def texts(target):
    said = {}
    for name, version, licence, folder in crates(target) + page_packages():
        names = filter(re.compile("(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE).match, os.listdir(folder))
        paths = filter(os.path.isfile, [f"{folder}/{it}" for it in sorted(names)])
        for text in list(map(read, paths)) or ["(Their packages have no text; in brackets is what these name.)"]:
            # Line breaks differ from copy to copy.
            said.setdefault(" ".join(text.split()), (text, []))[1].append(f"{name} {version} ({licence})")
    yield from ((", ".join(users), text) for text, users in said.values())
    rust = check_output(["rustc", "--print", "sysroot"], text=True).strip() + "/share/doc/rust/COPYRIGHT-library.html"
    yield "Rust's standard library", read(rust, "/usr/share/doc/libstd-rust*/copyright")
    # Linked into the program: by its licence anybody may link that with another one.
    yield "The GNU C Library (with another one `make package` builds the program anew)", "".join(
        map(read, ["/usr/share/doc/libc6/copyright", "/usr/share/common-licenses/LGPL-2.1"]))


if sys.argv[1] == "texts":
    sys.stdout.reconfigure(encoding="utf-8")
    print("What is in sweetspot beside its own code, and under which terms.")
    for users, text in texts(sys.argv[2]):
        print(f"\n{'=' * 80}\n{users}:\n\n{text.strip()}")
else:
    bom = json.loads(read(sys.argv[2]))
    for name, version, licence, _ in page_packages():
        purl = f"pkg:npm/{quote(name)}@{version}"
        bom["components"].append({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
                                  "licenses": [{"expression": licence}]})
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(bom, file, indent=2)

"""Makes an image of one program and the libraries that it needs, without a daemon: a docker archive in
FOLDER.

Usage: image.py FOLDER NAME [--with PATH[=PLACE]]... PROGRAM [ARGUMENT...]

The image runs /bin/PROGRAM with the arguments, as a user that is not root. --with adds a file or a
folder, in the same place or another, and the libraries that its libraries need. busybox has its
usual names as links, for shells in tests. ARCHITECTURE says for which processor the program is
(amd64 or arm64), where that is not this machine's.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

HERE = "amd64" if os.uname().machine == "x86_64" else "arm64"
BUSYBOX = "sh cat cp date echo env expr grep head hostname id ls mkdir nc nproc ps rm sleep tail test wget"


def add_file(archive, name, data, mode=0o644):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def libraries(program):
    """The files that the dynamic loader would map for it; none of a static program's."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return sorted(set(re.findall(r"(/\S+) \(0x", told.stdout)))


def add_busybox(archive, path):
    with open(path, "rb") as file:
        add_file(archive, "bin/busybox", file.read(), 0o755)
    for link in BUSYBOX.split():
        entry = tarfile.TarInfo(f"bin/{link}")
        entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
        archive.addfile(entry)


def files_of(path):
    """Itself, or all below it, sorted."""
    if not os.path.isdir(path):
        return [path]
    below = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return sorted(below)


def layer(program, others):
    """The root folder of the image, as a tar file's bytes; always the same for the same files."""
    buffer = io.BytesIO()
    needed = set(libraries(program))
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, mode in [("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777)]:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            archive.addfile(entry)
        add_file(archive, "etc/passwd", b"nonroot:x:65532:65532::/tmp:/bin/sh\n")
        if os.path.basename(program) == "busybox":
            add_busybox(archive, program)
        else:
            others = [(program, f"/bin/{os.path.basename(program)}"), *others]
        for path, place in others:
            if os.path.basename(path) == "busybox":
                add_busybox(archive, path)
                continue
            for file in files_of(path):
                if not os.path.isfile(file):
                    continue
                if file.endswith(".so"):
                    needed.update(libraries(file))
                with open(file, "rb") as opened:
                    data = opened.read()
                mode = 0o755 if os.access(file, os.X_OK) else 0o644
                add_file(archive, (place + file[len(path):]).lstrip("/"), data, mode)
        for library in sorted(needed):
            with open(library, "rb") as file:
                add_file(archive, library.lstrip("/"), file.read(), 0o755)
    return buffer.getvalue()


def main():
    folder, name, *rest = sys.argv[1:]
    others = []
    while rest[0] == "--with":
        path, _, place = rest[1].partition("=")
        others.append((path, place or path))
        rest = rest[2:]
    program, *arguments = rest
    root = layer(program, others)
    layer_id = hashlib.sha256(root).hexdigest()
    entry = [f"/bin/{os.path.basename(program)}", *arguments]
    config = {
        "architecture": os.environ.get("ARCHITECTURE") or HERE,
        "os": "linux",
        "config": {"Entrypoint": entry, "User": "65532:65532", "Env": ["PATH=/bin", "HOME=/tmp"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_id}"]},
    }
    config = json.dumps(config).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    layers = [f"{layer_id}/layer.tar"]
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": layers}]
    path = os.path.join(folder, name.replace("/", "_").replace(":", "_") + ".tar")
    with tarfile.open(path + ".new", "w") as archive:
        add_file(archive, config_name, config)
        add_file(archive, layers[0], root)
        add_file(archive, "manifest.json", json.dumps(manifest).encode())
    os.replace(path + ".new", path)


main()

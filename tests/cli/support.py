"""What the command line's tests share. A test file is run as: python3 <file> <path of octet> <folder of stub libraries>."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(SOURCE, "examples", "models")

OCTET = os.path.abspath(sys.argv[1]) if len(sys.argv) > 2 else None
STUBS = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None

# Small kernels that compile in a fraction of a second.
QUANTIZE = "quantize.packed g3 c256 in=bf16 out=e4m3:1x128"
WEIGHTS = "quantize.uniform g2 n128 k256 in=bf16 out=e4m3:128x128"
GEMM = "gemm.packed g3 n192 k256 a=e4m3:1x128 b=e4m3:128x128 d=bf16"


def clean_environment():
    """This process's environment without what would steer octet; the compiler may be where only its variable says."""
    return {name: value for name, value in os.environ.items()
            if name == "OCTET_NVRTC_LIBRARY" or not name.startswith("OCTET_")}


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="octet-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cache = os.path.join(self.folder, "cache")

    def path(self, name, text=None):
        """A path in the test's own folder, with a file of that text when one is given."""
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def octet(self, *arguments, code=0, stdin="", **settings):
        """Runs octet with OCTET_CACHE_DIR set to the test's own cache, and checks the exit code."""
        environment = {**clean_environment(), "OCTET_CACHE_DIR": self.cache}
        environment.update(settings)
        result = subprocess.run([OCTET, *map(str, arguments)], input=stdin, env=environment, cwd=self.folder,
                                capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(result.returncode, code, f"octet {arguments}\n{result.stdout}\n{result.stderr}")
        return result

    def json(self, *arguments, **keywords):
        """Standard output must be one JSON document and nothing else."""
        return json.loads(self.octet(*arguments, "--json", **keywords).stdout)

    def refused(self, *arguments, code=2, **keywords):
        """Bad input: nothing on stdout, exactly one line on stderr, which is returned."""
        result = self.octet(*arguments, code=code, **keywords)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Aoctet: [^\n]+\n\Z")
        return result.stderr

    def without_driver(self):
        """Settings that hide libcuda, for machines that have one."""
        return {"LD_PRELOAD": stub("octet_hide_libcuda"), "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def without_nvrtc(self):
        """A named library is taken or refused, never passed over."""
        return {"OCTET_NVRTC_LIBRARY": os.path.join(self.folder, "libnvrtc-is-not-here.so")}


def stub(name):
    return os.path.join(STUBS, name + ".so")


def main():
    if STUBS is None:
        sys.exit(f"usage: {sys.argv[0]} OCTET STUBS [unittest arguments]")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])

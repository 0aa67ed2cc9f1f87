"""Many processes on one cache: one compile for each kernel, whoever is killed, and nothing half-written is ever believed."""

import os
import random
import shutil
import signal
import subprocess
import time

import support
from support import CliTest, main

# Each selects one kernel.
PROBLEMS = [f"quantize.packed g3 c{columns} in=bf16 out=e4m3:1x128" for columns in range(256, 256 + 10 * 128, 128)]


class Processes(CliTest):
    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.folder, "compiles")

    def start(self, *arguments, **settings):
        """A process of its own group, with the compiler that answers at once."""
        environment = {**support.clean_environment(), "OCTET_CACHE_DIR": self.cache, "INSTANT_NVRTC_LOG": self.log,
                       "OCTET_NVRTC_LIBRARY": support.stub("octet_instant_nvrtc"), **settings}
        return subprocess.Popen([support.OCTET, *arguments], env=environment, cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def compiles(self):
        """Names of the kernels whose compiles began, one for each time."""
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            return [line.split()[1] for line in file]

    def entries(self):
        """Content of every file of the cache that is no lock, by its path in the cache."""
        found = {}
        for folder, _, names in os.walk(self.cache):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.basename(folder) != "locks":
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.cache)] = file.read()
        return found

    def kernels(self):
        """What one process alone puts into a cache of its own."""
        own, self.cache = self.cache, os.path.join(self.folder, "alone")
        process = self.start("build", *PROBLEMS, "-j", "1", INSTANT_NVRTC_LOG=os.path.join(self.folder, "alone.log"))
        self.assertEqual((process.communicate()[1] is not None, process.returncode), (True, 0))
        entries = self.entries()
        self.cache = own
        self.assertEqual(len(entries), len(PROBLEMS))
        return entries

    def test_d01_64_processes_on_a_cold_cache_compile_each_of_10_kernels_once(self):
        expected = self.kernels()
        # Each starts with another kernel, so that they meet at all of them.
        processes = [self.start("build", *(PROBLEMS[i % 10:] + PROBLEMS[:i % 10]), "-j", "1", "--json",
                                INSTANT_NVRTC_DELAY_MS="20") for i in range(64)]
        for process in processes:
            output, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, errors)
            self.assertNotIn("octet:", errors)
            self.assertIn('"failed": 0', output)
        self.assertEqual(len(self.compiles()), 10)
        self.assertEqual(len(set(self.compiles())), 10)
        self.assertEqual(self.entries(), expected)

    def test_a_holder_that_is_killed_while_it_compiles_delays_others_by_less_than_a_second(self):
        holder = self.start("build", PROBLEMS[0], "-j", "1", INSTANT_NVRTC_DELAY_MS="60000")
        while not self.compiles():
            time.sleep(0.01)
        waiter = self.start("build", PROBLEMS[0], "-j", "1", "--json")
        time.sleep(0.3)
        self.assertIsNone(waiter.poll(), "the waiter did not wait for the holder of the build lock")
        killed = time.monotonic()
        os.killpg(holder.pid, signal.SIGKILL)
        output, errors = waiter.communicate(timeout=60)
        self.assertLess(time.monotonic() - killed, 1)
        self.assertEqual(waiter.returncode, 0, errors)
        self.assertIn('"compiled": 1', output)
        holder.communicate()

    def published(self):
        return {name: content for name, content in self.entries().items() if name.endswith(".octet")}

    def test_1000_processes_killed_at_any_moment_leave_whole_entries_or_none(self):
        expected = self.kernels()
        dice = random.Random(1)
        halfway = 0
        for _ in range(250):
            started = [self.start("build", *PROBLEMS, "-j", "1", INSTANT_NVRTC_DELAY_MS="2") for _ in range(4)]
            for process in started:
                time.sleep(dice.uniform(0, 0.02))
                os.killpg(process.pid, signal.SIGKILL)
            for process in started:
                process.communicate(timeout=60)
            # What a reader may find is right or absent; temporary files of the dead are no entries.
            found = self.published()
            self.assertTrue(found.items() <= expected.items())
            halfway += 0 < len(found) < len(expected)
            if dice.random() < 0.5:
                shutil.rmtree(self.cache, ignore_errors=True)
        self.assertGreater(halfway, 20, "hardly any process was killed in the middle of its work")
        survivor = self.start("build", *PROBLEMS, "-j", "1", "--json")
        output, errors = survivor.communicate(timeout=60)
        self.assertEqual(survivor.returncode, 0, errors)
        self.assertIn('"failed": 0', output)
        self.octet("cache", "verify")
        self.assertEqual(self.published(), expected)


if __name__ == "__main__":
    main()

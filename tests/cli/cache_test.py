"""octet cache: what it lists, what it finds damaged, what it removes."""

import os
import time

from support import QUANTIZE, WEIGHTS, CliTest, main


class Cache(CliTest):
    def entries(self):
        return self.json("cache", "ls")["entries"]

    def damage(self, path):
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0x40]))

    def test_ls_lists_what_build_stored(self):
        built = self.json("build", QUANTIZE, WEIGHTS)
        listed = self.json("cache", "ls")
        self.assertEqual(listed["count"], built["kernels"])
        self.assertEqual({entry["spec"] for entry in listed["entries"]}, {one["spec"] for one in built["results"]})
        self.assertEqual(listed["bytes"], sum(os.path.getsize(entry["path"]) for entry in listed["entries"]))
        for entry in listed["entries"]:
            self.assertIn(entry["problem"], (QUANTIZE, WEIGHTS))
            self.assertEqual(entry["arch"], "sm_90a")
            self.assertRegex(entry["toolchain"], r"\Anvrtc \d+\.\d+")
            self.assertIsNone(entry["damage"])
        text = self.octet("cache", "ls").stdout
        for entry in listed["entries"]:
            self.assertIn(entry["spec"], text)

    def test_ls_shows_the_read_only_layers_too(self):
        built = self.json("build", WEIGHTS)
        empty = os.path.join(self.folder, "empty")
        listed = self.json("cache", "ls", OCTET_CACHE_DIR=empty, OCTET_CACHE_READONLY_DIRS=self.cache)
        self.assertEqual(listed["count"], built["kernels"])
        self.assertEqual({entry["layer"] for entry in listed["entries"]}, {self.cache})

    def test_ls_says_which_layer_an_entry_is_in(self):
        self.octet("build", WEIGHTS)
        upper = os.path.join(self.folder, "upper")
        layers = {"OCTET_CACHE_DIR": upper, "OCTET_CACHE_READONLY_DIRS": self.cache}
        self.octet("build", QUANTIZE, **layers)
        lines = self.octet("cache", "ls", **layers).stdout.splitlines()
        upper_at, lower_at = lines.index(upper), lines.index(f"{self.cache} (read-only)")
        self.assertIn("_c256_", lines[upper_at + 1])
        self.assertIn("_n128_", lines[lower_at + 1])
        self.assertTrue(lines[-1].endswith(f"{upper} and 1 read-only layer"))

    def test_a_folder_that_is_no_cache_is_refused(self):
        shared = self.path("shared")
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        file = self.path("file", "")
        for command in ("ls", "verify", "prune"):
            for directory, why in ((file, "Not a directory"), (shared, "writable"), (self.cache, "does not exist")):
                with self.subTest(command=command, directory=directory):
                    line = self.refused("cache", command, "--cache-dir", directory, code=1)
                    self.assertIn(directory, line)
                    self.assertIn(why, line)
                    self.assertNotIn("in memory", line)

    def test_a_layer_that_is_missing_is_refused(self):
        line = self.refused("cache", "ls", code=1, OCTET_CACHE_READONLY_DIRS=os.path.join(self.folder, "no-layer"))
        self.assertIn("no-layer does not exist", line)

    def test_a_cache_that_does_not_exist_is_empty_and_is_not_made(self):
        self.assertEqual(self.entries(), [])
        self.octet("cache", "verify")
        self.octet("cache", "prune")
        self.assertFalse(os.path.exists(self.cache))

    def test_verify_finds_damage_and_a_build_repairs_it(self):
        self.octet("build", WEIGHTS)
        self.assertEqual(self.json("cache", "verify")["damaged"], 0)
        victim = self.entries()[0]["path"]
        for name, harm in (("a flipped bit", self.damage), ("no bytes", lambda path: os.truncate(path, 0)),
                           ("half of it", lambda path: os.truncate(path, os.path.getsize(path) // 2))):
            with self.subTest(name):
                harm(victim)
                report = self.json("cache", "verify", code=1)
                self.assertEqual(report["damaged"], 1)
                self.assertEqual([one["path"] for one in report["entries"] if one["damage"]], [victim])
                self.assertIn(victim, self.octet("cache", "verify", code=1).stdout)
                self.assertEqual(self.json("build", WEIGHTS)["compiled"], 1)
                self.octet("cache", "verify")

    def test_prune_keeps_what_was_used_last(self):
        self.octet("build", WEIGHTS, QUANTIZE)
        entries = self.entries()
        now = time.time()
        for age, entry in enumerate(entries):
            os.utime(entry["path"], (now - 100 * age, now - 100 * age))
        removed = self.json("cache", "prune", "--max-bytes", entries[0]["bytes"])
        self.assertEqual(removed["count"], len(entries) - 1)
        self.assertEqual([entry["path"] for entry in self.entries()], [entries[0]["path"]])

    def test_prune_takes_sizes_as_people_write_them(self):
        self.octet("build", WEIGHTS)
        count = len(self.entries())
        for size in ("1G", "1.5GiB", "2000M", "1T"):
            self.assertEqual(self.json("cache", "prune", "--max-bytes", size)["count"], 0)
        self.assertEqual(len(self.entries()), count)
        # Every entry of this kernel is far above a kibibyte.
        self.assertEqual(self.json("cache", "prune", "--max-bytes", "1K")["count"], count)
        self.assertEqual(self.entries(), [])

    def test_prune_takes_damaged_entries_first(self):
        self.octet("build", WEIGHTS, QUANTIZE)
        listed = self.json("cache", "ls")
        victim = listed["entries"][0]["path"]
        self.damage(victim)
        os.utime(victim)  # the most recently used one
        removed = self.json("cache", "prune", "--max-bytes", listed["bytes"] - 1)
        self.assertEqual([entry["path"] for entry in removed["removed"]], [victim])
        self.octet("cache", "verify")


if __name__ == "__main__":
    main()

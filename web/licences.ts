// What the libraries in the page ask for: their licences go with it. A build writes them into
// LICENSES.txt beside the page, and fails for a library that has none.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

interface Package { name: string; version: string; license: string; texts: string[] }

// packageOf is the folder of the library that a module belongs to; null for our own.
const packageOf = (module: string) => /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1] ?? null;

function read(folder: string): Package {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((f) => /^(licen[cs]e|notice|copying)/i.test(f)).sort();
  if (!files.length) throw new Error(name + " has no licence in its package");
  return { name, version, license, texts: files.map((f) => readFileSync(join(folder, f), "utf8").replaceAll("\r\n", "\n").trim()) };
}

export function licences(): Plugin {
  return {
    name: "licences",
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const made of Object.values(bundle)) {
        if (made.type !== "chunk") continue;
        for (const id of made.moduleIds) {
          const folder = packageOf(id);
          if (folder) folders.add(folder);
        }
      }
      const all = [...folders].map(read).sort((a, b) => (a.name < b.name ? -1 : 1));
      const head = "The page of ramet holds these libraries:\n\n" + all.map((p) => `  ${p.name} ${p.version} (${p.license})\n`).join("");
      const rule = "\n" + "=".repeat(78) + "\n";
      this.emitFile({ type: "asset", fileName: "LICENSES.txt", source: head + all.map((p) => rule + `${p.name} ${p.version}\n\n` + p.texts.join("\n\n" + "-".repeat(78) + "\n\n") + "\n").join("") });
    },
  };
}

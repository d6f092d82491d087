// Code in colours: highlight.js with the languages that agents write most. The result is
// HTML whose only tags are spans with classes; everything of the text is escaped in it.
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import clojure from "highlight.js/lib/languages/clojure";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import dart from "highlight.js/lib/languages/dart";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import elixir from "highlight.js/lib/languages/elixir";
import erlang from "highlight.js/lib/languages/erlang";
import go from "highlight.js/lib/languages/go";
import graphql from "highlight.js/lib/languages/graphql";
import haskell from "highlight.js/lib/languages/haskell";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import nix from "highlight.js/lib/languages/nix";
import ocaml from "highlight.js/lib/languages/ocaml";
import perl from "highlight.js/lib/languages/perl";
import php from "highlight.js/lib/languages/php";
import powershell from "highlight.js/lib/languages/powershell";
import protobuf from "highlight.js/lib/languages/protobuf";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import scala from "highlight.js/lib/languages/scala";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const known = {
  bash, c, clojure, cpp, csharp, css, dart, diff, dockerfile, elixir, erlang, go, graphql, haskell, ini, java, javascript, json, kotlin, lua, makefile, markdown,
  nix, ocaml, perl, php, powershell, protobuf, python, r, ruby, rust, scala, shell, sql, swift, typescript, xml, yaml,
};
for (const [name, language] of Object.entries(known)) hljs.registerLanguage(name, language);
hljs.configure({ throwUnescapedHTML: false });

export const languages = Object.keys(known);
const longest = 40_000; // characters of a block that are coloured

export const escaped = (s: string) => s.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);

// kept are the blocks that were coloured last: a reply that comes in is drawn many times.
const kept = new Map<string, string>();
const most = 200;

// coloured is the HTML of a piece of code. A language that is not known is not guessed.
export function coloured(text: string, language: string): string {
  const name = language.toLowerCase();
  if (!name || text.length > longest || !hljs.getLanguage(name)) return escaped(text);
  const key = name + "\n" + text, had = kept.get(key);
  if (had !== undefined) return had;
  const made = hljs.highlight(text, { language: name, ignoreIllegals: true }).value;
  kept.set(key, made);
  if (kept.size > most) kept.delete(kept.keys().next().value!);
  return made;
}

const extensions: Record<string, string> = { sh: "bash", h: "c", cc: "cpp", hpp: "cpp", cs: "csharp", toml: "ini", kt: "kotlin", mk: "makefile", md: "markdown", ml: "ocaml", pl: "perl", ps1: "powershell", proto: "protobuf", py: "python", rb: "ruby", rs: "rust", html: "xml", svg: "xml", yml: "yaml", ex: "elixir", erl: "erlang", hs: "haskell", clj: "clojure" };

// languageOf says in which language a file is written, by its name; "" if nobody knows.
export function languageOf(path: string): string {
  const base = path.split("/").at(-1)?.toLowerCase() ?? "";
  if (base === "makefile" || base === "dockerfile") return base;
  const ext = base.includes(".") ? base.split(".").at(-1)! : "";
  const name = extensions[ext] ?? ext;
  return name && hljs.getLanguage(name) ? name : "";
}

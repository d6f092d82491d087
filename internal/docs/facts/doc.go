// Package facts reads a repository and says what is in it: an inventory of all files, and
// claims about the project, each with the lines that prove it.
//
// It is a function over a file system: it runs nothing of the repository, follows no
// symbolic link, and needs neither network nor tools of the languages. The same tree gives
// the same bytes. What cannot be parsed gives no claims and is never an error; a panic or an
// endless loop on hostile input is a bug here.
//
// # What claims say
//
// Text is what the source says about itself, or a plain sentence that follows from it. It is
// empty where the source says nothing. Text is plain or Markdown: paragraphs are separated by
// an empty line, code is fenced or indented by a tab. Links that point into the repository
// and pictures are reduced to their words, because the text will stand on another page.
//
// Signature is the piece to show as code. It depends on the kind:
//
//	project     the bare value of the name, version, … that Name says
//	licence     empty; Name is the SPDX name
//	requires    the version or range, as the manifest has it
//	install     the command
//	entry       how it is declared (a path, a function), or empty
//	command     the usage line
//	flag        the flag with its short form, value and default
//	example     the code; Language is that of the code
//	convention  the command
//	others      the declaration without its body, at most 2,000 bytes
//
// Module is what a claim belongs to, as users write it: an import path, a dotted module, a
// package's name; for flags the command.
//
// # Evidence
//
// The lines of a function are its comment and its head, so that a change of the body leaves
// the claim true; those of a type are its whole declaration where the signature shows it.
// Check compares evidence with a tree.
//
// # Ids
//
// An id is language.kind.module.name in [a-z0-9._-]; what does not fit is replaced by a
// hyphen. Names that fold to the same id get eight hex digits of their hash, all of them
// except one that is its own fold; so an id does not depend on the order of files.
package facts

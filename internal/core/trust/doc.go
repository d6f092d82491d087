// Package trust is the gate between what lies in a project and what acts: a folder
// that came with a clone, a pull or a model's edit is data until a person accepts it.
//
// It promises:
//
//   - Everything of a project is opened below it by handles (os.Root). A link that
//     leads out of the project is not followed, for reading or for writing; it is
//     DENIED, and nothing is touched.
//   - What acts (configuration, instructions, programs that git would run) was
//     accepted by a person in exactly these bytes. The bytes are kept under ramet's
//     home, and what is kept is what is used: a later edit in the project, whoever
//     made it, changes nothing until a person accepts it.
//   - A change is never silent: Review tells for each thing whether it is the same,
//     new, changed, gone, or cannot act at all; and shows what cannot be seen.
//   - Acceptance names what was shown. Accept takes the Review that a person saw, and
//     Digest is its name, for programs.
//   - The record is the user's: one that others can write is refused.
//
// A Source finds things of one Kind. A caller that adds a kind of file that acts adds a
// Source, and nothing else: listing, accepting, keeping and comparing are the same for
// all. A Source of a folder finds every file below it, so that a new file in a trusted
// folder is a change.
package trust

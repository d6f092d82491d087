// Package builtin has the workers and gates that recipes name with `uses`.
//
// # Promises of the workers
//
//   - Outputs depend on the pinned commits and the item's inputs alone: no time, no id of
//     a run, no place of this machine is in them. (The address of a pull request is, and
//     the id of the run in its commit.)
//   - All may be done again at any moment. What is missing in work/ is made again from the
//     pinned commits; what somebody changed there is put right.
//   - Nothing of a repository is executed.
//   - What does not fit is an issue and not a failure: the run goes on to mend it.
//   - A pull request is opened once for a key. A branch that is not ours is not touched.

package runner

// Package restore makes files what they were in a state: a plan that says what would happen,
// a journal, and one file at a time.
//
// It promises:
//
//   - A plan changes nothing. It lists what would be restored and removed, and what is kept,
//     with the reason: others could have changed it, its content is not known, or was not kept.
//   - Files are reached by handle, folder by folder below the root, and never through a link.
//   - A file is replaced only while it is what the plan saw, by content and mode; anything else
//     is kept, and listed. Each is replaced in one step, after its content is on disk.
//   - The plan is on disk before the first file is touched. Whoever is killed leaves a journal,
//     and Finish carries out the rest; carrying it out twice is carrying it out once.
//   - Nothing that is git's or ramet's own is touched.

package files

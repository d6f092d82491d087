package launch

import "os"

// Umask returns nothing: there is none.
func Umask() string { return "" }

// isPrivate reports true: modes say nothing here, and the cache is in the user's profile.
func isPrivate(os.FileInfo) bool { return true }

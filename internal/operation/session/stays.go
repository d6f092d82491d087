package session

import "ramet/internal/core/trust"

// CheckInside refuses a path of the project that leads out of it: a repository must not choose
// what is written elsewhere. What the user names outside is the user's will.
func CheckInside(project, path, hint string) error {
	return trust.Folder{Project: project, Dir: path, Hint: hint}.Stays()
}

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/operation/session"
)

// CarePorts holds the functions that these commands need besides the session.
type CarePorts struct {
	Version func() Version
	Tour    Tour
	// Sandbox returns an error if commands cannot be confined here.
	Sandbox func() error
	// Limits describes the limits of confined commands here.
	Limits func() string
	// Background finds the background kernel.
	Background func(*session.Session) (BackgroundKernel, error)
	// Telemetry returns the size of the records of a workspace, and since when they
	// are kept; false: there are none.
	Telemetry func(ctx context.Context, ws *session.Workspace) (records, bytes int64, since time.Time, there bool, err error)
}

// PrintProof are the commands of proof and care.
func PrintProof(l *Line) []*cobra.Command {
	return []*cobra.Command{verifyStoreCommand(l), keyCommand(l)}
}

// careCommands are the commands about settings and the program.
func careCommands(l *Line, p CarePorts) []*cobra.Command {
	return []*cobra.Command{configCommand(l), rulesCommand(l), promptCommand(l), trustCommand(l), doctorCommand(l, p), demoCommand(l, p.Tour)}
}

// AboutVersion is the command that tells what this program is, apart from the others: it needs nothing.
func AboutVersion(l *Line, p CarePorts) []*cobra.Command {
	return []*cobra.Command{versionCommand(l, p.Version)}
}

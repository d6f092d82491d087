package cli

import (
	"context"
	"fmt"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/operation/control"
)

// examineKernel explains the background kernel: whether it runs, where it is, and why it ended last.
func examineKernel(l *Line, ctx context.Context, out *checkup, p CarePorts) {
	if _, agents := l.Own(); agents || p.Background == nil {
		return // the user's socket is not for commands of agents
	}
	k, err := p.Background(l.Session)
	if err != nil {
		out.add("kernel", "", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	now, err := k.Status(ctx)
	switch {
	case fault.Is(err, fault.NotFound):
		out.add("kernel", "does not run; it starts when it is needed", nil)
	case err != nil:
		out.add("kernel", "", err)
	default:
		detail := fmt.Sprintf("runs: version %s, process %d, since %s, %s, socket %s", now.Version, now.PID,
			now.StartedAt.Local().Format(time.DateTime), text.Count(len(now.Workspaces), "project"), now.Socket)
		if now.URL != "" {
			detail += ", page " + now.URL
		}
		if own := p.Version().Version; now.Version != own {
			err = fault.New(fault.Conflict, "the background kernel is version %s, and this is version %s", now.Version, own).
				WithHint("`ramet server restart` starts it again once no agent works")
		}
		out.add("kernel", detail, err)
	}
	home, err := l.HomeDir()
	if err != nil {
		return // it was reported
	}
	place, err := control.FindPlace(l.Getenv, home)
	if err != nil {
		out.add("kernel log", "", err)
		return
	}
	detail := place.Log()
	if end := place.LastEnd(); end != "" {
		detail += "; the last end: " + end
	}
	if died := place.Died(); len(died) > 0 {
		err = fault.New(fault.Failed, "the background kernel died %s within a minute", text.Count(len(died), "time")).
			WithHint("read %s", place.Log())
	}
	out.add("kernel log", detail, err)
	if _, note := control.CheckLogout(ctx, l.Getenv); note != "" {
		out.add("logout", note, nil)
	}
}

package httpapi

import (
	"net/http"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/registry"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func (a Agents) trashRoutes() []Route {
	const path = "/api/v1/trash"
	doc := func(id, summary string) Doc { return Doc{ID: id, Tag: "files", Summary: summary} }
	return []Route{
		Does(Route{Method: http.MethodGet, Path: path, Doc: doc("listTrash", "List the files that were moved out of the way, oldest first")},
			http.StatusOK, func(c *Call, _ None) (public.Trash, error) { return a.Workspace.Care().ShowTrash(c.Context()) }),
		Does(Route{Method: http.MethodPost, Path: path + "/restore", Limit: recordBody, Doc: doc("restoreTrash", "Move files from the trash back to where they were; nothing is overwritten")},
			http.StatusOK, a.restoreTrash),
		Does(Route{Method: http.MethodPost, Path: path + "/empty", Limit: recordBody, Doc: doc("emptyTrash", "Delete files in the trash for good")},
			http.StatusOK, a.emptyTrash),
	}
}

// RestoreTrashInput asks for files from the trash.
type RestoreTrashInput struct {
	ID string `json:"id"` // an item, or an act: all items that it moved
}

func (a Agents) restoreTrash(c *Call, in RestoreTrashInput) (public.TrashRestores, error) {
	if in.ID == "" {
		return public.TrashRestores{}, pointed("/id", fault.New(fault.Usage, "id says what is restored"))
	}
	return a.Workspace.Care().RestoreTrash(c.Context(), in.ID, "")
}

// EmptyTrashInput asks for files in the trash to be deleted. All is needed if nothing else limits
// them.
type EmptyTrashInput struct {
	Older string `json:"older,omitempty"` // moved there longer ago than this (36h, 30d), or before a date
	Over  int64  `json:"over,omitempty"`  // larger than this many bytes
	All   bool   `json:"all,omitempty"`
	Plan  bool   `json:"plan,omitempty"` // only say what would be deleted
}

func (a Agents) emptyTrash(c *Call, in EmptyTrashInput) (public.TrashEmptied, error) {
	e := session.Emptying{Over: in.Over, Plan: in.Plan}
	if in.Over < 0 {
		return public.TrashEmptied{}, pointed("/over", fault.New(fault.Usage, "over is a number of bytes"))
	}
	if (in.Older == "" && in.Over == 0) != in.All {
		return public.TrashEmptied{}, pointed("/all", fault.New(fault.Usage, "either older, over or both, or all"))
	}
	if in.Older != "" {
		var err error
		if e.Before, err = registry.ParseSince(in.Older, time.Now()); err != nil {
			return public.TrashEmptied{}, pointed("/older", err)
		}
	}
	return a.Workspace.Care().EmptyTrash(c.Context(), e)
}

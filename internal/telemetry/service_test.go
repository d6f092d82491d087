package telemetry_test

import (
	"fmt"
	"net/http"
	"sort"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"ramet/internal/telemetry"
)

// service takes deliveries as a telemetry service does, and refuses what it would.
type service struct {
	records map[string]telemetry.Record
	bodies  map[string]string
	runIDs  map[string]string
	order   []string
	clock   time.Time
}

func newService() *service {
	return &service{records: map[string]telemetry.Record{}, bodies: map[string]string{}, runIDs: map[string]string{}, clock: time.Unix(2e9, 0).UTC()}
}

func (s *service) take(all ...telemetry.Delivery) error {
	for _, d := range all {
		switch d.Method {
		case http.MethodPost:
			n, err := telemetry.ParseNew(d.Body)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Body, err)
			}
			if old, again := s.bodies[n.EventID]; again {
				if old != n.BodyHash {
					return fmt.Errorf("event_id %s reused: %s", n.EventID, d.Body)
				}
				continue
			}
			if other, twice := s.runIDs[n.RunID]; twice {
				return fmt.Errorf("run_id %s of %s and %s", n.RunID, other, n.EventID)
			}
			if n.EventID != d.EventID || d.Path() != "/api/v1/runs" {
				return fmt.Errorf("delivery of %s to %s: %s", d.EventID, d.Path(), d.Body)
			}
			s.bodies[n.EventID], s.runIDs[n.RunID], s.records[n.EventID] = n.BodyHash, n.EventID, n.Record
			s.order = append(s.order, n.EventID)
		case http.MethodPatch:
			old, known := s.records[d.EventID]
			if !known || d.Path() != "/api/v1/runs/"+d.EventID {
				return fmt.Errorf("change of %s, which is not known, at %s", d.EventID, d.Path())
			}
			p, err := telemetry.ParsePatch(d.Body)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Body, err)
			}
			s.clock = s.clock.Add(time.Second)
			if s.records[d.EventID], err = telemetry.Apply(old, p, s.clock); err != nil {
				return fmt.Errorf("%s: %w", d.Body, err)
			}
		default:
			return fmt.Errorf("method %q", d.Method)
		}
	}
	return nil
}

// check is what must hold at any time.
func (s *service) check() error {
	for id, r := range s.records {
		switch _, known := s.runIDs[r.ParentRunID]; {
		case r.JobType == telemetry.Launch && r.ParentRunID != "":
			return fmt.Errorf("launch %s has a parent", r.RunID)
		case r.JobType != telemetry.Launch && !known:
			return fmt.Errorf("%s has the unknown parent %q", r.RunID, r.ParentRunID)
		case (r.Status == telemetry.Running) != (r.EndTime == nil):
			return fmt.Errorf("%s is %s and ended %v", r.RunID, r.Status, r.EndTime)
		case r.Status != telemetry.Running && r.DurationMS == nil:
			return fmt.Errorf("%s has no duration", r.RunID)
		case (r.Status == telemetry.Failure || r.Status == telemetry.Timeout) != (r.ErrorSummary != "") && r.JobType != telemetry.Node && r.Status != telemetry.Cancelled:
			return fmt.Errorf("%s is %s because of %q", r.RunID, r.Status, r.ErrorSummary)
		case r.EventID != id:
			return fmt.Errorf("%s is kept as %s", r.EventID, id)
		}
		top := r
		for top.ParentRunID != "" {
			top = s.records[s.runIDs[top.ParentRunID]]
		}
		if r.Status == telemetry.Running && top.Status != telemetry.Running && top.JobType == telemetry.Launch {
			return fmt.Errorf("%s is running below %s, which is %s", r.RunID, top.RunID, top.Status)
		}
	}
	return nil
}

// contextFollow reads a record's.
func contextFollow(r telemetry.Record) map[string]any {
	var out map[string]any
	if err := json.Unmarshal(r.Context, &out); err != nil {
		panic(err)
	}
	return out
}

// tree draws the records: one line each, children indented.
func (s *service) tree() string {
	below := map[string][]telemetry.Record{}
	for _, id := range s.order {
		r := s.records[id]
		below[r.ParentRunID] = append(below[r.ParentRunID], r)
	}
	var b strings.Builder
	var draw func(parent, indent string)
	draw = func(parent, indent string) {
		kids := below[parent]
		sort.SliceStable(kids, func(i, j int) bool { return kids[i].StartTime.Before(kids[j].StartTime) })
		for _, r := range kids {
			fmt.Fprintf(&b, "%s%s %s", indent, strings.TrimPrefix(r.RunID, parent+"-"), r.Status)
			if r.DurationMS != nil {
				fmt.Fprintf(&b, " %dms", *r.DurationMS)
			}
			if r.ErrorSummary != "" {
				fmt.Fprintf(&b, " (%s)", r.ErrorSummary)
			}
			b.WriteString("\n")
			draw(r.RunID, indent+"  ")
		}
	}
	draw("", "")
	return b.String()
}

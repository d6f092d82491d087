package driver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

const mostOffer = 1 << 20 // bytes of a file

// Offers is a folder with a file for each program. All methods are safe for concurrent use.
type Offers struct{ Folder string }

func (o *Offers) file(name string) string { return filepath.Join(o.Folder, name+".json") }

// plain says whether a driver's name can be that of a file.
func plain(name string) bool {
	return name != "" && name[0] != '.' && !strings.ContainsAny(name, `/\:`+"\x00") && len(name) <= 200
}

// Of is what a program offered; false: it never ran here.
func (o *Offers) Of(name string) (Offer, bool) {
	if !plain(name) {
		return Offer{}, false
	}
	data, err := durable.ReadPlain(o.file(name), mostOffer, nil)
	var out Offer
	if err != nil || json.Unmarshal(data, &out) != nil {
		return Offer{}, false
	}
	return out, true
}

// Keep keeps what a program offers. What the same program offered before and says nothing of now
// stays: a session tells its commands a moment after it began, and one that is taken up may tell
// nothing.
func (o *Offers) Keep(name string, now Offer) error {
	if !plain(name) {
		return nil
	}
	now = now.Bounded()
	was, had := o.Of(name)
	if had && was.Version == now.Version {
		now = now.Or(was)
	}
	if had && reflect.DeepEqual(was, now) {
		return nil
	}
	data, err := json.Marshal(now)
	if err == nil && len(data) > mostOffer {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(o.Folder, 0o700)
	}
	if err == nil {
		err = durable.WriteFile(o.file(name), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fault.New(fault.StorageIO, "keep what %s offers: %w", name, err)
	}
	return nil
}

package secret

import "strings"

// kind is a kind of key, as its vendor writes it.
type kind struct {
	name  string // for the marker
	forms string // one or several, with spaces between
	// near holds what must are in the name that the key is given to, for forms that are
	// common to many things; one of several words, with spaces between.
	near string
	sum  func(key string) bool // the checksum, where one is published
}

// publishedKinds returns the kinds that are recognized everywhere. The more particular ones
// come first.
func publishedKinds() []kind {
	var all []kind
	for _, table := range [][]kind{modelKinds, codeKinds, cloudKinds, dataKinds, serviceKinds, moneyKinds, commonKinds} {
		all = append(all, table...)
	}
	return all
}

// parsed returns the forms of a kind. The tables are part of the program, so an error in one is
// a bug; a test goes through all of them.
func (k *kind) parsed() []*form {
	var out []*form
	for _, text := range strings.Fields(k.forms) {
		f, err := parseForm(text)
		if err != nil {
			panic("secret: " + k.name + ": " + err.Error())
		}
		out = append(out, f)
	}
	return out
}

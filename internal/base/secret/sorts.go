package secret

import "sync"

// What a character can be around an assignment; some are several things.
const (
	operator    = 1 << iota // the last character of an operator
	beforeValue             // between the operator and the value
	inValue
	inName
	afterName // between the name and the operator
)

// sorts has what each character can be.
var sorts = sync.OnceValue(func() *[256]byte {
	var sorts [256]byte
	const alnum, space = small + large + digits, " \t\n\v\f\r"
	for sort, chars := range map[byte]string{
		operator:    "=>:|,",
		beforeValue: "`'\"=\\" + space,
		inValue:     alnum + "_.=-+/",
		inName:      alnum + "_ \t.-",
		afterName:   "'\"\\" + space,
	} {
		for i := range len(chars) {
			sorts[chars[i]] |= sort
		}
	}
	return &sorts
})

package testkit

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// AttackRecord names the variable with the file that Attack appends to. `make redteam` sets it.
const AttackRecord = "RAMET_REDTEAM"

// ofThisRun matches names that differ in every run.
var ofThisRun = regexp.MustCompile(fmt.Sprintf(`(/var)?/tmp/(ramet|Test)[\w-]*(/\d{3})?|\b%d\b`, os.Getpid()))

// Attack records that a test carried out an attack and looked for its effect; the test has failed if there was one.
// row is a row of the tables in docs/security.md. as is the account that attacked, if it is not that of this process; 0 is that one.
// Attack does nothing outside of `make redteam`.
func Attack(t interface {
	failer
	Failed() bool
}, row, name string, as ...uint32) {
	path := os.Getenv(AttackRecord)
	if path == "" {
		return
	}
	t.Helper()
	account, outcome := uint32(os.Geteuid()), "held"
	for _, uid := range as {
		account = cmp.Or(uid, account)
	}
	if t.Failed() {
		outcome = "EFFECT"
	}
	name = strings.Join(strings.Fields(ofThisRun.ReplaceAllString(name, "DIR")), " ")
	if name = fmt.Sprintf("%.160s", name); strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	// Another account may have made the file: it is not created here, which the kernel refuses in /tmp.
	file := Must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	defer file.Close()
	Must(fmt.Fprintf(file, "%s\t%s\t%s\t%s\n", row, map[bool]string{true: "root", false: "user"}[account == 0], outcome, name))(t)
}

// AttackEnvironment returns the variable that a test hands to itself when it runs once more as another account.
func AttackEnvironment() string { return AttackRecord + "=" + os.Getenv(AttackRecord) }

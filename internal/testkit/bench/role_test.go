package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Some figures are about a whole process. This binary plays that process: it is
// started again with a role, reads its orders as JSON from standard input and
// answers with JSON.
const roleVariable = "RAMET_BENCH_ROLE"

var roles = map[string]func() int{}

// enrol gives a name to what a process of its own does.
func enrol[Orders, Answer any](name string, play func(Orders) (Answer, error)) string {
	roles[name] = func() int {
		var orders Orders
		err := json.NewDecoder(os.Stdin).Decode(&orders)
		if err == nil {
			var answer Answer
			if answer, err = play(orders); err == nil {
				err = json.NewEncoder(os.Stdout).Encode(answer)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return name
}

// apart lets a process of its own play a role.
func apart[Answer any](b *testing.B, role string, orders any) Answer {
	b.Helper()
	c := exec.CommandContext(b.Context(), must[string](b)(os.Executable()))
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.Stdin = bytes.NewReader(must[[]byte](b)(json.Marshal(orders)))
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		b.Fatalf("%s: %v\n%s", role, err, errs.Bytes())
	}
	var answer Answer
	check(b, json.Unmarshal(out, &answer))
	return answer
}

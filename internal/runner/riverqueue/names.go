package riverqueue

import (
	"crypto/sha256"
	"fmt"

	"ramet/internal/base/text"
)

// What River takes for a schema, for a queue, and for the parts of a client's name.
var (
	schemaRule = text.Regexp(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	queueRule  = text.Regexp(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	oddities   = text.Regexp(`[^a-zA-Z0-9._]+`)
)

// companionSchema names the schema that belongs to another: "ramet_river" to "ramet".
func companionSchema(schema string) string {
	const longest = 46 // of River's, so that its channels have names
	if name := schema + "_river"; len(name) <= longest && schemaRule().MatchString(name) {
		return name
	}
	return fmt.Sprintf("ramet_%x_river", shortSum(schema, 16))
}

// queueName is what a queue is called in River.
func queueName(name string) string {
	if len(name) <= 60 && queueRule().MatchString(name) {
		return "q-" + name
	}
	return fmt.Sprintf("x-%x", shortSum(name, 16))
}

// clientName is what a host is called in River: readable, and no other's.
func clientName(host string) string {
	plain := oddities().ReplaceAllString(host, "-")
	return fmt.Sprintf("h-%.60s-%x", plain, shortSum(host, 8))
}

func shortSum(text string, bytes int) []byte {
	all := sha256.Sum256([]byte(text))
	return all[:bytes]
}

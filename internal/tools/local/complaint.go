package local

import "fmt"

// sentenceError makes an error that is a sentence for the model.
func sentenceError(format string, args ...any) error { return fmt.Errorf(format, args...) }

package local

import "fmt"

// complain makes an error that is a sentence for the model.
func complain(format string, args ...any) error { return fmt.Errorf(format, args...) }

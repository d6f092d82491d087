package sqlite

import (
	"testing"

	"ramet/internal/store/storetest"
)

func TestNoVerbSucceedsWithAFailedStatement(t *testing.T) { storetest.RunFailing(t, fresh(t), &Before) }

package sqlite

import (
	"testing"

	"ramet/internal/testkit/storetest"
)

func TestNoVerbSucceedsWithAFailedStatement(t *testing.T) { storetest.RunFailing(t, fresh(t), &Before) }

package telemetry

// Total adds up the records of one job type and status, for /metrics.
type Total struct {
	JobType JobType
	Status  Status
	Sums
}

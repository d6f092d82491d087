package secret

// dataKinds are the keys of databases, of telemetry and of analyses.
var dataKinds = []kind{
	{name: "databricks-api-token", forms: "dapi<hex:32>-<digit:1> dapi<hex:32>"},
	{name: "planetscale-api-token", forms: "pscale_tkn_<padded:32-64>"},
	{name: "planetscale-oauth-token", forms: "pscale_oauth_<padded:32-64>"},
	{name: "planetscale-password", forms: "pscale_pw_<padded:32-64>"},
	{name: "supabase-api-key", forms: "sbp_<hex:40> sb_secret_<url:20-40>_<url:6-12>"},
	{name: "neon-api-key", forms: "napi_<lower:64>"},
	{name: "clickhouse-cloud-api-secret-key", forms: "4b1d<base62:38>"},
	{name: "airtable-personal-access-token", forms: "pat<base62:14>.<hex:64>"},
	{name: "settlemint-access-token", forms: "sm_aat_<base62:16> sm_pat_<base62:16> sm_sat_<base62:16>"},
	{name: "grafana-api-key", forms: "eyJrIjoi<base62:70-400><pad:0-3>"},
	{name: "grafana-cloud-api-token", forms: "glc_<base64:32-400><pad:0-3>"},
	{name: "grafana-service-account-token", forms: "glsa_<base62:32>_<hex:8>", sum: crcOfGrafana},
	{name: "dynatrace-api-token", forms: "dt0<lower:3>.<base62:24>.<base62:64>"},
	{name: "new-relic-user-api-key", forms: "NRAK-<base62:27>"},
	{name: "new-relic-browser-api-token", forms: "NRJS-<hex:19>"},
	{name: "new-relic-insert-key", forms: "NRII-<url:32>"},
	{name: "sentry-org-token", forms: "sntrys_eyJpYXQiO<base64:20-600><pad:0-2>_<base64:43>"},
	{name: "sentry-user-token", forms: "sntryu_<hex:64>"},
	{name: "posthog-personal-api-key", forms: "phx_<base62:43-48>"},
	{name: "honeycomb-ingest-key", forms: "hcaik_<lower:58> hcbik_<lower:58>"},
	{name: "contentful-personal-access-token", forms: "CFPAT-<url:43>"},
	{name: "mapbox-api-token", forms: "sk.eyJ1<url:50-200>.<url:22> pk.<lower:60>.<lower:22>"},
	{name: "typeform-api-token", forms: "tfp_<padded:40-59>"},
	{name: "figma-pat", forms: "figd_<url:40>"},
}

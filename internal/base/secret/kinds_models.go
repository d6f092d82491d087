package secret

// modelKinds are the keys of vendors of models and of what is built around models.
var modelKinds = []kind{
	{name: "anthropic-api-key", forms: "sk-ant-api<digit:2>-<url:80-120>"},
	{name: "anthropic-admin-api-key", forms: "sk-ant-admin<digit:2>-<url:80-120>"},
	{name: "anthropic-oauth-token", forms: "sk-ant-oat<digit:2>-<url:80-120> sk-ant-ort<digit:2>-<url:80-120>"},
	{name: "openrouter-api-key", forms: "sk-or-v1-<hex:64>"},
	{name: "langfuse-secret-key", forms: "sk-lf-<uuid>"},
	{name: "openai-api-key", forms: "sk-proj-<url:40-200> sk-svcacct-<url:40-200> sk-admin-<url:40-200> sk-<base62:20>T3BlbkFJ<base62:20>"},
	{name: "deepseek-api-key", forms: "sk-<hex:32>"},
	{name: "groq-api-key", forms: "gsk_<base62:52>"},
	{name: "xai-api-key", forms: "xai-<base62:80>"},
	{name: "cerebras-api-key", forms: "csk-<lower:48>"},
	{name: "perplexity-api-key", forms: "pplx-<base62:48>"},
	{name: "nvidia-api-key", forms: "nvapi-<url:64>"},
	{name: "replicate-api-token", forms: "r8_<base62:37>"},
	{name: "fireworks-api-key", forms: "fw_<base62:24>"},
	{name: "huggingface-access-token", forms: "hf_<base62:34>"},
	{name: "huggingface-organization-api-token", forms: "api_org_<base62:34>"},
	{name: "langsmith-api-key", forms: "lsv2_pt_<hex:32>_<hex:10> lsv2_sk_<hex:32>_<hex:10>"},
	{name: "pinecone-api-key", forms: "pcsk_<base62:5-6>_<base62:60-66>"},
	{name: "voyage-api-key", forms: "pa-<url:43>"},
	{name: "tavily-api-key", forms: "tvly-<base62:32> tvly-dev-<base62:32>"},
	{name: "e2b-api-key", forms: "e2b_<hex:40>"},
}

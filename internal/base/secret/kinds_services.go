package secret

// serviceKinds are the keys of chats, of mail and of the tools of offices.
var serviceKinds = []kind{
	{name: "slack-bot-token", forms: "xoxb-<digit:8-14>-<digit:10-13><url:0-64> xoxb-<digit:8-14>-<url:18-64>"},
	{name: "slack-user-token", forms: "xoxp-<digit:10-13>-<digit:10-13>-<digit:10-13>-<url:28-34> xoxe-<digit:10-13>-<digit:10-13>-<digit:10-13>-<url:28-34>"},
	{name: "slack-config-access-token", forms: "xoxe.xoxp-<digit:1>-<base62:163-166> xoxe.xoxb-<digit:1>-<base62:163-166>"},
	{name: "slack-config-refresh-token", forms: "xoxe-<digit:1>-<base62:146>"},
	{name: "slack-app-token", forms: "xapp-<digit:1>-<base62:1-32>-<digit:1-32>-<base62:1-100>"},
	{name: "slack-legacy-token", forms: "xoxo-<digit:1-32>-<digit:1-32>-<digit:1-32>-<hex:1-64> xoxs-<digit:1-32>-<digit:1-32>-<digit:1-32>-<hex:1-64>"},
	{name: "slack-legacy-workspace-token", forms: "xoxa-<digit:1>-<base62:8-48> xoxa-<base62:8-48> xoxr-<digit:1>-<base62:8-48> xoxr-<base62:8-48>"},
	{name: "slack-webhook-url", forms: "hooks.slack.com/services/<base64:40-60> hooks.slack.com/workflows/<base64:40-90> hooks.slack.com/triggers/<base64:40-90>"},
	{name: "discord-webhook-url", forms: "discord.com/api/webhooks/<digit:17-20>/<url:60-80> discordapp.com/api/webhooks/<digit:17-20>/<url:60-80>"},
	{name: "microsoft-teams-webhook", forms: ".webhook.office.com/webhookb2/" + uuid + "@" + uuid + "/IncomingWebhook/<lower:32>/" + uuid + " " +
		".webhook.office.com/webhookb2/<lower:8>-<lower:4>-<lower:4>-<lower:4>-<lower:12>@<lower:8>-<lower:4>-<lower:4>-<lower:4>-<lower:12>" +
		"/IncomingWebhook/<lower:32>/<lower:8>-<lower:4>-<lower:4>-<lower:4>-<lower:12>"},
	{name: "telegram-bot-api-token", forms: "<digit:5-16>:AA<url:33> <digit:5-16>:A<url:34>"},
	{name: "sendgrid-api-token", forms: "SG.<url:22>.<url:43> SG.<padded:66>"},
	{name: "sendinblue-api-token", forms: "xkeysib-<hex:64>-<base62:16> xsmtpsib-<hex:64>-<base62:16>"},
	{name: "mailgun-private-api-token", forms: "key-<hex:32>"},
	{name: "mailgun-pub-key", forms: "pubkey-<hex:32>"},
	{name: "mailchimp-api-key", forms: "<hex:32>-us<digit:1-2>"},
	{name: "resend-api-key", forms: "re_<base62:8>_<base62:24>"},
	{name: "twilio-api-key", forms: "SK<hex:32>"},
	{name: "notion-api-token", forms: "ntn_<digit:11><base62:35> secret_<base62:43>"},
	{name: "linear-api-key", forms: "lin_api_<base62:40> lin_oauth_<base62:64>"},
	{name: "asana-pat", forms: "1/<digit:16>:<hex:32> 2/<digit:16>/<digit:16>:<hex:32>"},
	{name: "frameio-api-token", forms: "fio-u-<padded:64>"},
	{name: "facebook-page-access-token", forms: "EAAM<base62:100-400> EAAC<base62:100-400>"},
	{name: "facebook-access-token", forms: "<digit:15-16>|<url:27-40> <digit:15-16>%<url:27-40>"},
	{name: "twitter-bearer-token", forms: "AAAAAAAAAAAAAAAAAAAAAA<coded:80-100>"},
	{name: "sidekiq-sensitive-url", forms: "<hex:8>:<hex:8>@gems.contribsys.com <hex:8>:<hex:8>@enterprise.contribsys.com"},
}

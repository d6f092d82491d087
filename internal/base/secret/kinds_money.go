package secret

// moneyKinds are the keys of payments, of shops and of shipping.
var moneyKinds = []kind{
	{name: "stripe-access-token", forms: "sk_live_<base62:10-247> sk_test_<base62:10-247> sk_prod_<base62:10-247> rk_live_<base62:10-247> rk_test_<base62:10-247> rk_prod_<base62:10-247>"},
	{name: "stripe-webhook-secret", forms: "whsec_<base62:32-64>"},
	{name: "square-access-token", forms: "EAAA<url:22-60> sq0atp-<url:22-60>"},
	{name: "square-oauth-secret", forms: "sq0csp-<url:43>"},
	{name: "shopify-access-token", forms: "shpat_<hex:32>"},
	{name: "shopify-custom-access-token", forms: "shpca_<hex:32>"},
	{name: "shopify-private-app-access-token", forms: "shppa_<hex:32>"},
	{name: "shopify-shared-secret", forms: "shpss_<hex:32>"},
	{name: "razorpay-key-id", forms: "rzp_live_<base62:14> rzp_test_<base62:14>"},
	{name: "plaid-api-token", forms: "access-sandbox-<uuid> access-development-<uuid> access-production-<uuid>"},
	{name: "braintree-access-token", forms: "access_token$production$<lower:16>$<hex:32> access_token$sandbox$<lower:16>$<hex:32>"},
	{name: "flutterwave-secret-key", forms: "FLWSECK_TEST-<base62:32>-X FLWSECK-<base62:32>-X"},
	{name: "flutterwave-encryption-key", forms: "FLWSECK_TEST<base62:12> FLWSECK_TEST-<base62:12>"},
	{name: "flutterwave-public-key", forms: "FLWPUBK_TEST-<base62:32>-X FLWPUBK-<base62:32>-X"},
	{name: "easypost-api-token", forms: "EZAK<base62:54>"},
	{name: "easypost-test-api-token", forms: "EZTK<base62:54>"},
	{name: "shippo-api-token", forms: "shippo_live_<hex:40> shippo_test_<hex:40>"},
	{name: "duffel-api-token", forms: "duffel_test_<padded:43> duffel_live_<padded:43>"},
	{name: "lob-api-key", forms: "live_<hex:35> test_<hex:35>"},
	{name: "lob-pub-api-key", forms: "live_pub_<hex:31> test_pub_<hex:31>"},
}

// commonKinds belong to no vendor.
var commonKinds = []kind{
	{name: "jwt", forms: "eyJ<url:16-1024>.eyJ<path:16-8192>.<path:10-1024><pad:0-2> eyJ<url:16-1024>.eyJ<path:16-8192>. " +
		"ey<base62:17-1024>.ey<path:17-8192>.<path:10-1024><pad:0-2> ey<base62:17-1024>.ey<path:17-8192>."},
	// A JWT that is encoded once more: ZXlK is eyJ.
	{name: "jwt-base64", forms: "ZXlK<full:44-8192>"},
}

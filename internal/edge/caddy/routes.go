package caddy

// server asks the edge about each request, and then sends it where the edge says.
func (c Config) server() object {
	return object{
		"listen":                  []string{c.HTTPS},
		"automatic_https":         object{"disable_redirects": true},
		"tls_connection_policies": []object{{}},
		"routes": []object{{"handle": []object{
			forged(),
			c.question(),
			{"handler": "reverse_proxy", "upstreams": []object{{"dial": "{http.vars.upstream}"}}},
		}}},
	}
}

// forged takes from the client's request what only the edge may say. Applications that see header fields as CGI
// variables take X_Tenant for X-Tenant.
func forged() object {
	return object{
		"handler": "headers",
		"request": object{"delete": []string{"X-Tenant*", "X_Tenant*", "X-Upstream", "X_Upstream"}},
	}
}

// question is the subrequest. Its answer is the client's only where the hostname is bound and not open.
func (c Config) question() object {
	return object{
		"handler":   "reverse_proxy",
		"upstreams": []object{{"dial": c.Edge}},
		"rewrite":   object{"method": "GET", "uri": "/route"},
		"headers": object{"request": object{
			"set": object{"X-Forwarded-Host": []string{"{http.request.host}"}},
		}},
		"handle_response": []object{
			{"match": object{"status_code": []int{2}}, "routes": opened()},
			{
				"match":  object{"status_code": []int{403, 503}},
				"routes": []object{{"handle": []object{{"handler": "copy_response"}}}},
			},
			{"routes": []object{{"handle": []object{{"handler": "static_response", "status_code": 421}}}}},
		},
	}
}

// opened keeps the answer for what comes after it.
func opened() []object {
	return []object{{"handle": []object{
		{"handler": "vars", "upstream": "{http.reverse_proxy.header.X-Upstream}"},
		{"handler": "headers", "request": object{
			"set": object{"X-Tenant": []string{"{http.reverse_proxy.header.X-Tenant}"}},
		}},
	}}}
}

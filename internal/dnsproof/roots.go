package dnsproof

// publicRoots are addresses of the servers of the public root (https://www.iana.org/domains/root/servers), of both
// families in turn: where one is missing, the next is tried at once.
func publicRoots() []string {
	return []string{
		"198.41.0.4", "2001:503:ba3e::2:30",
		"170.247.170.2", "2801:1b8:10::b",
		"192.33.4.12", "2001:500:2::c",
		"192.5.5.241", "2001:500:2f::f",
		"193.0.14.129", "2001:7fd::1",
		"199.7.83.42", "2001:500:9f::42",
	}
}

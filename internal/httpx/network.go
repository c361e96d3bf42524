package httpx

// networkBits is the part of an IPv6 address that its holder cannot choose freely.
const networkBits = 64

// Network is what a limit by address counts: one IPv4 address, or the /64 that an IPv6 caller can choose from freely.
func (i *Info) Network() string {
	addr := i.Client.Unmap().WithZone("")
	if addr.Is6() {
		if prefix, err := addr.Prefix(networkBits); err == nil {
			return prefix.String()
		}
	}
	return addr.String()
}

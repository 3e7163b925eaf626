package supervisor

// Quotas returns nothing: usage cannot be counted on macOS.
func Quotas() []Quota { return nil }

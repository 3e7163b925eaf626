package supervisor

// ResourceLimits returns nothing: on macOS gaffer does not count the usage.
func ResourceLimits() []ResourceLimit { return nil }

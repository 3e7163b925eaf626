package supervisor

// ResourceLimits returns nothing: on macOS gaffer cannot count the usage.
func ResourceLimits() []ResourceLimit { return nil }

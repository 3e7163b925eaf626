package supervisor

// ResourceLimits returns nothing: on macOS gaffer does not find out how much of its limits is used.
func ResourceLimits() []ResourceLimit { return nil }

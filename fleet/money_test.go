package fleet

import "testing"

func TestMoneyHasAsManyDigitsAsItNeeds(t *testing.T) {
	for _, c := range []struct {
		usd  float64
		want string
	}{
		{0, "$0.00"},
		{20, "$20.00"},
		{0.42, "$0.42"},
		{1234.567, "$1234.57"},
		{0.00465, "$0.0047"},
		{0.002, "$0.0020"},
		{0.05, "$0.05"},
		{0.0503, "$0.0503"},
		{0.1234, "$0.12"},
		{0.00000123, "$0.000001"},
		{-0.5, "-$0.50"},
		{0.999999, "$1.00"},
	} {
		if got := Money(c.usd); got != c.want {
			t.Errorf("%v is %s, want %s", c.usd, got, c.want)
		}
	}
}

func TestRoundingHidesNoExcess(t *testing.T) {
	for _, c := range []struct {
		spent, limit float64
		want         string
	}{
		{0.00465, 0.002, "$0.0047 of $0.0020"},
		{20.004, 20, "$20.004 of $20.00"},
		{20.000001, 20, "$20.000001 of $20.00"},
		{19.9999, 20, "$19.9999 of $20.00"},
		{20, 20, "$20.00 of $20.00"},
		{8.1, 10, "$8.10 of $10.00"},
		{0, 5, "$0.00 of $5.00"},
		{0.1252, 0.1251, "$0.1252 of $0.1251"},
	} {
		if got := MoneyOf(c.spent, c.limit); got != c.want {
			t.Errorf("%v of %v is %q, want %q", c.spent, c.limit, got, c.want)
		}
	}
}

func TestAnAmountSaysWhatItsLimitLimits(t *testing.T) {
	for want, got := range map[string]string{
		"$0.50 of $1.00":                  Amount{MicroUSD: 5e5, Tokens: 9}.Of(Amount{MicroUSD: 1e6}),
		"12 of 10 tokens":                 Amount{MicroUSD: 5e5, Tokens: 12}.Of(Amount{Tokens: 10}),
		"$0.50 of $1.00, 12 of 10 tokens": Amount{MicroUSD: 5e5, Tokens: 12}.Of(Amount{MicroUSD: 1e6, Tokens: 10}),
		"":                                Amount{MicroUSD: 5e5}.Of(Amount{}),
		"$1.00 and 10 tokens":             Amount{MicroUSD: 1e6, Tokens: 10}.LimitText(),
		"10 tokens":                       Amount{Tokens: 10}.LimitText(),
		"$20.00":                          Amount{MicroUSD: 20e6}.LimitText(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	limit := Amount{MicroUSD: 10, Tokens: 10}
	if at := (Amount{MicroUSD: 10}); !at.Reaches(limit) || at.Exceeds(limit) || at.Exceeds(Amount{}) || at.Reaches(Amount{}) {
		t.Error("an amount that is equal to its limit reaches it, and does not exceed it")
	}
}

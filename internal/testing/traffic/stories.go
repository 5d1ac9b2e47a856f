package traffic

// pay begins a payment now.
func (c *customer) pay(reason string, amount int64) *payment {
	return &payment{
		invoice: c.newID("in_1Tr", 18), number: "8C1F0A2E-" + c.newID("", 7), intent: c.newID("pi_3Tr", 18), charge: c.newID("ch_3Tr", 18),
		amount: amount, begun: c.now, reason: reason,
	}
}

// first is a checkout as Stripe runs it: the payment, the invoice and the subscription are there before the
// session is complete, so that what grants credits comes before anything names the user.
func (c *customer) first() {
	if c.subscription != "" {
		return
	}
	c.wait(40)
	c.plan, c.subscription, c.itemID = basic, c.newID("sub_1Tr", 18), c.newID("si_T", 13)
	c.subscribed, c.from, c.to, c.status = c.now, c.now, c.now+month, "incomplete"
	p := c.pay("subscription_create", basic.amount)
	p.session = c.newID("cs_live_a1", 56)
	p.lines = []any{c.line(basic, basic.amount, false, "1 × Basic (at €19.00 / month)")}
	c.firstPayment, c.latest = p, p.invoice

	c.emit("payment_method.attached", c.method(), nil)
	c.emit("payment_intent.created", c.intentObject(p, "requires_payment_method"), nil)
	c.emit("invoice.created", c.invoice(p, "draft"), nil)
	c.emit("invoice.finalized", c.invoice(p, "open"), nil)
	c.emit("customer.subscription.created", c.subscriptionObject(), nil)
	c.wait(2)
	c.emit("charge.succeeded", c.chargeObject(p, "succeeded"), nil)
	c.emit("payment_intent.succeeded", c.intentObject(p, "succeeded"), nil)
	c.paid(p)
	c.status = "active"
	c.emit("customer.subscription.updated", c.subscriptionObject(), fields{"status": "incomplete"})
	c.wait(1)
	c.emit("checkout.session.completed", c.session(p, "subscription", fields{}), nil)
	c.credits += basic.credits
}

// paid is what Stripe says of an invoice once it is paid.
func (c *customer) paid(p *payment) {
	c.emit("invoice.paid", c.invoice(p, "paid"), nil)
	c.emit("invoice.payment_succeeded", c.invoice(p, "paid"), nil)
	if !c.old() {
		c.emit("invoice_payment.paid", c.invoicePayment(p), nil)
	}
}

// renewal begins with an upgrade a few days before; its prorations wait for the renewal's invoice.
func (c *customer) renewal() {
	c.now = c.to - 5*day
	was := c.items()
	unused := c.line(basic, -basic.amount/6, true, "Unused time on Basic after 26 Dec 2025")
	c.plan = plus
	c.emit("customer.subscription.updated", c.subscriptionObject(), fields{"items": was, "plan": basic.old()})
	rest := c.line(plus, plus.amount/6, true, "Remaining time on Plus after 26 Dec 2025")
	p := c.renew(plus.amount + plus.amount/6 - basic.amount/6)
	p.lines = []any{unused, rest, c.line(plus, plus.amount, false, "1 × Plus (at €49.00 / month)")}

	c.emit("invoice.created", c.invoice(p, "draft"), nil)
	c.wait(3600)
	c.emit("invoice.finalized", c.invoice(p, "open"), nil)
	c.emit("payment_intent.created", c.intentObject(p, "requires_payment_method"), nil)
	c.wait(2)
	c.emit("charge.succeeded", c.chargeObject(p, "succeeded"), nil)
	c.emit("payment_intent.succeeded", c.intentObject(p, "succeeded"), nil)
	c.paid(p)
	c.credits += plus.credits
}

// renew moves the subscription into its next period and begins the invoice for it.
func (c *customer) renew(amount int64) *payment {
	c.now = c.to
	was := fields{"items": c.items(), "latest_invoice": c.latest}
	if c.old() {
		was = fields{"current_period_start": c.from, "current_period_end": c.to, "latest_invoice": c.latest}
	}
	c.from, c.to = c.to, c.to+month
	p := c.pay("subscription_cycle", amount)
	c.latest = p.invoice
	c.emit("customer.subscription.updated", c.subscriptionObject(), was)
	return p
}

// refund gives back half of the first payment, in two quarters.
func (c *customer) refund() {
	p := c.firstPayment
	var refunded int64
	for range 2 {
		c.wait(day)
		id, part, begun, was := c.newID("re_3Tr", 18), p.amount/4, c.now, refunded
		refunded += part
		charge := c.chargeObject(p, "succeeded")
		charge["created"], charge["amount_refunded"] = p.begun+2, refunded
		c.emit("refund.created", c.refundObject(p, id, "pending", part, begun), nil)
		c.emit("charge.refunded", charge, fields{"amount_refunded": was, "receipt_url": charge["receipt_url"]})
		c.wait(3)
		settled := c.refundObject(p, id, "succeeded", part, begun)
		c.emit("refund.updated", settled, fields{"status": "pending"})
		c.emit("charge.refund.updated", settled, fields{"status": "pending"})
	}
	c.credits -= basic.credits * refunded / p.amount
}

// pack is a purchase without an invoice: its session says what it is worth.
func (c *customer) pack(disputed bool) {
	c.wait(day)
	p := c.pay("", packAmount)
	p.invoice, p.session = "", c.newID("cs_live_a1", 56)
	c.emit("payment_intent.created", c.intentObject(p, "requires_payment_method"), nil)
	c.wait(2)
	c.emit("charge.succeeded", c.chargeObject(p, "succeeded"), nil)
	c.emit("payment_intent.succeeded", c.intentObject(p, "succeeded"), nil)
	c.emit("checkout.session.completed", c.session(p, "payment", fields{"credits": text(packCredits), "pack": "small"}), nil)
	c.credits += packCredits
	if !disputed {
		return
	}

	c.wait(6 * day)
	id, begun := c.newID("du_1Tr", 18), c.now
	c.emit("charge.dispute.created", c.disputeObject(p, id, "needs_response", begun), nil)
	c.emit("charge.dispute.funds_withdrawn", c.disputeObject(p, id, "needs_response", begun), nil)
	c.wait(2 * day)
	c.emit("charge.dispute.updated", c.disputeObject(p, id, "under_review", begun), fields{"status": "needs_response"})
	c.wait(9 * day)
	c.emit("charge.dispute.closed", c.disputeObject(p, id, "won", begun), fields{"status": "under_review"})
	c.emit("charge.dispute.funds_reinstated", c.disputeObject(p, id, "won", begun), nil)
}

// recovery is a renewal whose card is declined at first.
func (c *customer) recovery() {
	p := c.renew(c.plan.amount)
	p.lines = []any{c.line(c.plan, c.plan.amount, false, "1 × "+c.plan.name)}
	c.emit("invoice.created", c.invoice(p, "draft"), nil)
	c.wait(3600)
	c.emit("invoice.finalized", c.invoice(p, "open"), nil)
	c.emit("payment_intent.created", c.intentObject(p, "requires_payment_method"), nil)
	c.wait(2)
	declined := *p
	declined.charge = c.newID("ch_3Tr", 18)
	c.emit("charge.failed", c.chargeObject(&declined, "failed"), nil)
	failed := c.intentObject(p, "requires_payment_method")
	failed["latest_charge"] = declined.charge
	failed["last_payment_error"] = fields{"charge": declined.charge, "code": "card_declined", "decline_code": "insufficient_funds", "message": "Your card has insufficient funds.", "type": "card_error"}
	c.emit("payment_intent.payment_failed", failed, nil)
	c.emit("invoice.payment_failed", c.invoice(p, "open"), nil)
	c.status = "past_due"
	c.emit("customer.subscription.updated", c.subscriptionObject(), fields{"status": "active"})

	c.wait(3 * day)
	c.emit("charge.succeeded", c.chargeObject(p, "succeeded"), nil)
	c.emit("payment_intent.succeeded", c.intentObject(p, "succeeded"), nil)
	c.paid(p)
	c.status = "active"
	c.emit("customer.subscription.updated", c.subscriptionObject(), fields{"status": "past_due"})
	c.credits += c.plan.credits
}

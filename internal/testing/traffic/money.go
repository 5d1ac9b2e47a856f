package traffic

import "maps"

// intentObject says how far a payment intent has come: requires_payment_method or succeeded.
func (c *customer) intentObject(p *payment, status string) fields {
	i := object("payment_intent", fields{
		"id": p.intent, "customer": c.id, "status": status, "created": p.begun, "amount": p.amount, "amount_received": 0,
		"client_secret": p.intent + "_secret_example0000000000000000", "payment_method": nil,
	})
	if status == "succeeded" {
		i["amount_received"], i["latest_charge"], i["payment_method"] = p.amount, p.charge, c.card
	}
	if c.old() {
		i["invoice"] = orNil(p.invoice)
		if status == "succeeded" {
			i["charges"] = fields{"object": "list", "data": []any{c.chargeObject(p, "succeeded")}, "has_more": false, "total_count": 1, "url": "/v1/charges?payment_intent=" + p.intent}
		}
	}
	return i
}

func (c *customer) chargeObject(p *payment, status string) fields {
	h := object("charge", fields{
		"id": p.charge, "customer": c.id, "status": status, "paid": status == "succeeded", "captured": status == "succeeded", "created": c.now,
		"amount": p.amount, "amount_captured": p.amount, "amount_refunded": 0, "refunded": false, "balance_transaction": "txn_" + p.charge[3:],
		"payment_intent": p.intent, "payment_method": c.card,
		"receipt_url": "https://pay.example.com/receipts/invoices/" + p.charge + "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz?s=ap",
	})
	if status == "failed" {
		maps.Copy(h, fields{
			"amount_captured": 0, "balance_transaction": nil, "failure_code": "card_declined", "failure_message": "Your card has insufficient funds.",
		})
	}
	if c.old() {
		h["invoice"] = orNil(p.invoice)
	}
	return h
}

func (c *customer) invoicePayment(p *payment) fields {
	return object("invoice_payment", fields{
		"id": "inpay_" + p.invoice[3:], "invoice": p.invoice, "amount_paid": p.amount, "amount_requested": p.amount, "created": p.begun, "status": "paid",
		"payment":            fields{"payment_intent": p.intent, "type": "payment_intent"},
		"status_transitions": fields{"canceled_at": nil, "paid_at": c.now},
	})
}

// session is a checkout that ended paid. It is the only object that names the user.
func (c *customer) session(p *payment, mode string, metadata fields) fields {
	s := object("checkout.session", fields{
		"id": p.session, "customer": c.id, "client_reference_id": c.user, "mode": mode, "metadata": metadata, "created": p.begun, "expires_at": p.begun + day,
		"amount_subtotal": p.amount, "amount_total": p.amount, "invoice": nil, "subscription": nil, "payment_intent": nil, "invoice_creation": nil,
	})
	if mode == "subscription" {
		s["invoice"], s["subscription"] = p.invoice, c.subscription
	} else {
		s["payment_intent"], s["invoice_creation"] = p.intent, fields{"enabled": false}
	}
	return s
}

func (c *customer) refundObject(p *payment, id, status string, amount, begun int64) fields {
	return object("refund", fields{
		"id": id, "charge": p.charge, "payment_intent": p.intent, "amount": amount, "status": status, "created": begun,
		"balance_transaction": "txn_" + id[3:],
	})
}

func (c *customer) disputeObject(p *payment, id, status string, begun int64) fields {
	return object("dispute", fields{
		"id": id, "charge": p.charge, "payment_intent": p.intent, "amount": p.amount, "status": status, "created": begun,
	})
}

func orNil(id string) any {
	if id == "" {
		return nil
	}
	return id
}

SELECT order_entry.process_orders(5);
